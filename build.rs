//! Lists the templates in `config/networks`: one file is one network, and its name is that of the network.

use std::env;
use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let package = env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo says where the package is")?;
    let folder = Path::new(&package).join("config/networks");
    writeln!(io::stdout(), "cargo::rerun-if-changed={}", folder.display())?;
    let mut files =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let mut rows = String::new();
    for file in files {
        let name = file.file_stem().and_then(OsStr::to_str);
        let (name, path) = name.zip(file.to_str()).ok_or("the name of a template is no text")?;
        writeln!(rows, "({name:?}, include_str!({path:?})),")?;
    }
    let to = env::var_os("OUT_DIR").ok_or("cargo says where to")?;
    fs::write(Path::new(&to).join("networks.rs"), format!("&[\n{rows}]\n"))?;
    Ok(())
}
