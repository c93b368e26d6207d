//! A secret that stands in the configuration itself or in a file that it names, never in both. `accept`
//! puts it straight into a type that does not print it.

use super::faults::Reported;
use super::kinds::Expected;
use super::reader::TableReader;
use host::owner_only;
use std::path::Path;
use std::{fs, io};

/// The secret at `key`, or in the file that `file_key` names; none where neither is set. `expects`
/// says what it must look like, and `accept` judges it.
pub(super) fn read<T: 'static>(
    reader: &mut TableReader<'_>,
    key: &'static str,
    file_key: &'static str,
    expects: &str,
    accept: impl Fn(&str) -> Result<T, String> + Clone + 'static,
) -> Result<Option<T>, Reported> {
    let inline = reader.optional(key, &Expected::of_text(expects, accept.clone()));
    let file = reader.optional(file_key, &in_file(expects, accept));
    if reader.has(key) && reader.has(file_key) {
        return Err(reader.fault(key, format!("set beside {file_key}; keep one of the two")));
    }
    inline.and_then(|inline| Ok(inline.or(file?)))
}

fn in_file<T: 'static>(
    expects: &str,
    accept: impl Fn(&str) -> Result<T, String> + 'static,
) -> Expected<T> {
    Expected::of_text(format!("the path of a file that holds {expects}"), move |path| {
        accept(&of_file(Path::new(path))?)
    })
}

/// Reads the text of a file that is its owner's alone, without the end of its line. No error quotes the path: a
/// secret may have been written in its place. The error names the directory in which the file was looked for, as
/// far as there is one.
pub(super) fn of_file(path: &Path) -> Result<String, String> {
    let unreadable = |error: io::Error| {
        let directory = path.ancestors().skip(1).find(|directory| directory.is_dir());
        let below = directory.map(|it| format!(" below {}", it.display())).unwrap_or_default();
        format!("the file cannot be read{below}: {}", error.kind())
    };
    let file = fs::metadata(path).map_err(unreadable)?;
    owner_only::check(&file).map_err(|why| why.to_string())?;
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}
