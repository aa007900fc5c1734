//! A copy of the runtime for use in any image: its program, with the loader and the libraries that it runs on here.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The names of the program and of its loader in such a directory.
const PROGRAM: &str = "burst-runtime";
const LOADER: &str = "loader";

/// Copies the runtime, its loader and its libraries into an empty directory.
///
/// # Errors
/// When the file system fails.
pub fn lay_out(directory: &Path) -> io::Result<()> {
    let put = |from: &Path, name: &str| {
        let to = directory.join(name);
        fs::copy(from, &to)?;
        // Whichever user an image's processes run as must be able to execute it.
        fs::set_permissions(&to, fs::Permissions::from_mode(0o555))
    };
    put(&std::env::current_exe()?, PROGRAM)?;
    for path in mapped()? {
        let path = Path::new(&path);
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if name.starts_with("ld-linux") || name.starts_with("ld-2") {
            put(path, LOADER)?;
        } else if name.contains(".so.") || name.ends_with(".so") {
            put(path, name)?;
        }
    }
    Ok(())
}

/// Returns the files that this process has mapped, each once.
fn mapped() -> io::Result<Vec<String>> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let paths = maps
        .lines()
        .filter_map(|line| Some(&line[line.find('/')?..]));
    let mut paths: Vec<_> = paths.map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::Command;

    #[test]
    fn the_laid_out_program_runs_by_its_own_loader() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        lay_out(at).unwrap();
        // This test's own program, which uses nothing of the machine but what is here.
        let listed = Command::new(at.join(LOADER))
            .args(["--inhibit-cache", "--list"])
            .arg(at.join(PROGRAM))
            .env("LD_LIBRARY_PATH", at)
            .output()
            .unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let paths = listed.lines().filter(|line| line.contains("=>"));
        let elsewhere: Vec<_> = paths
            .filter(|line| !line.contains(&format!("=> {}", at.display())))
            .filter(|line| !line.contains("ld-linux"))
            .collect();
        assert!(
            elsewhere.is_empty() && listed.contains("libc.so"),
            "{listed}"
        );
    }
}
