//! Files of claims, imported into a journal that has none.

use journal::{Journal, NotImported};
use journal_test_support::{Book, config};
use std::cell::RefCell;
use tokio::runtime::{Builder, Runtime};

struct World {
    runtime: Runtime,
    /// A journal without claims. What is taken goes into another one each time.
    book: Book,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// A file that is refused changes nothing. One that is taken is known from then on, and what the journal then
/// exports is taken by an empty one, which has the same claims.
pub fn take(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    WORLD.with_borrow_mut(|world| {
        let taken = world.get_or_insert_with(World::begin).is_taken(text);
        if taken {
            *world = None;
        }
    });
}

impl World {
    fn begin() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let book = runtime.block_on(Book::in_a_file());
        Self { runtime, book }
    }

    fn is_taken(&self, text: &str) -> bool {
        let journal = &self.book.journal;
        self.runtime.block_on(async {
            let before = journal.head().await.unwrap();
            let Ok(added) = import(journal, text).await else {
                assert_eq!(
                    journal.head().await.unwrap(),
                    before,
                    "a file that is refused changes nothing"
                );
                return false;
            };
            let again = import(journal, text).await.unwrap();
            assert_eq!((again.added, again.known), (0, added.added + added.known));
            self.is_told(journal).await;
            true
        })
    }

    async fn is_told(&self, journal: &Journal) {
        let told = journal.export_claims().await.unwrap();
        let room = tempfile::tempdir().unwrap();
        let config = config(&room);
        Journal::initialise(&config.path).unwrap();
        let other = Journal::open(&config).unwrap();
        let taken = import(&other, &told.text).await.unwrap();
        assert_eq!((taken.added, taken.known), (told.billings, 0));
        assert_eq!(other.export_claims().await.unwrap().text, told.text);
    }
}

async fn import(journal: &Journal, text: &str) -> Result<journal::Imported, NotImported> {
    journal.import_claims(text.to_owned(), "fuzz".to_owned(), "because".to_owned()).await
}
