//! A secret that stands in the configuration itself or in a file that it names, never in both. `accept`
//! puts it straight into a type that does not print it.

use super::faults::Reported;
use super::kinds::Expected;
use super::reader::TableReader;
use host::owner_only::{self, Looseness};
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

/// The shortest secret of a caller, bytes.
const SHORTEST: usize = 16;

/// Reads the text of a file that is its owner's alone, without the end of its line. An error tells the path as far as
/// there are such directories, and the rest of it only if that is too short for a secret: one may have been written in
/// the path's place.
pub(super) fn of_file(path: &Path) -> Result<String, String> {
    let directory = path.ancestors().skip(1).find(|directory| directory.is_dir());
    let rest = directory.and_then(|directory| path.strip_prefix(directory).ok()).unwrap_or(path);
    let named = match directory {
        _ if rest.as_os_str().len() < SHORTEST => format!("file {}", path.display()),
        Some(directory) => format!("file of this name below {}", directory.display()),
        None => "file of this name".to_owned(),
    };
    read_file(path, &named, |why| why.to_string())
}

/// The same of a path that was given for one on the command line: every error tells it.
pub(super) fn of_named_file(path: &Path) -> Result<String, String> {
    let named = format!("file {}", path.display());
    read_file(path, &named, |why| format!("{}: {why}", path.display()))
}

/// Reads a file that is called so in an error; `loose` tells that others can read the file.
fn read_file(
    path: &Path,
    named: &str,
    loose: impl Fn(Looseness) -> String,
) -> Result<String, String> {
    let unreadable = |error: io::Error| {
        if error.kind() == io::ErrorKind::NotFound {
            return format!("there is no {named}: check the path");
        }
        format!("the {named} cannot be read: {}", error.kind())
    };
    let file = fs::metadata(path).map_err(unreadable)?;
    owner_only::check(&file).map_err(loose)?;
    let text = fs::read_to_string(path).map_err(unreadable)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}
