//! Packages: a directory with an executable named `exec` or with files that a launcher finds, a zip of one, a bare
//! executable or a source file.

use std::fs;
use std::io::{self, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use burst_protocol::{CONTROL_FD, Init};

use crate::concurrency::Concurrency;
use crate::executable;
use crate::kind::{Kind, Language, SOURCE};
use crate::launcher::{self, LauncherError};
use crate::limits::ELF;
use crate::own_directory::OwnDirectory;
use crate::package_error::PackageError;
use crate::scratch;
use crate::unpack;
use crate::wanted::{self, NotInstalled};

/// The name of the executable within a package.
pub(crate) const EXEC: &str = "exec";

/// The kind of a package, the function that is called in it, and how many calls may run at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Code {
    pub(crate) kind: Kind,
    pub(crate) main: Option<String>,
    pub(crate) concurrency: Concurrency,
}

/// A package on disk. One that was unpacked or copied here is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Package {
    directory: PathBuf,
    exec: PathBuf,
    code: Code,
    owned: Option<OwnDirectory>,
    /// Whether dependencies that it names but does not contain are to be installed beside it.
    installs: bool,
    /// Why they are not installed, if it names some.
    lacks: Option<String>,
}

impl Package {
    /// Finds the package in this directory, or around this executable; either belongs to somebody else.
    pub(crate) fn at(path: &Path, code: Code) -> Result<Self, PackageError> {
        let path = path.canonicalize()?;
        let (directory, exec) = match path.parent() {
            Some(parent) if path.is_file() => (parent.to_owned(), path),
            _ => (path.clone(), path.join(EXEC)),
        };
        Self {
            directory,
            exec,
            code,
            owned: None,
            installs: false,
            lacks: None,
        }
        .checked()
    }

    /// Unpacks an executable, a zip or a source file into a directory of its own.
    pub(crate) fn unpack(mut bytes: impl Read + Seek, code: Code) -> Result<Self, PackageError> {
        let owned = OwnDirectory::new()?;
        let mut head = Vec::new();
        bytes
            .by_ref()
            .take(ZIP.len() as u64)
            .read_to_end(&mut head)?;
        bytes.rewind()?;
        let may_be_source = matches!(code.kind, Kind::Script(_) | Kind::Image);
        if head.starts_with(&ELF) || (head.starts_with(executable::SCRIPT) && !may_be_source) {
            unpack::copy(bytes, &owned.path().join(EXEC), 0o755)?;
        } else if may_be_source && !head.starts_with(ZIP) {
            unpack::copy(bytes, &owned.path().join(SOURCE), 0o644)?;
        } else {
            unpack::unzip(bytes, owned.path())?;
            match fs::set_permissions(owned.path().join(EXEC), PermissionsExt::from_mode(0o755)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
        let directory = owned.path().to_owned();
        Self {
            exec: directory.join(EXEC),
            directory,
            code,
            owned: Some(owned),
            installs: false,
            lacks: None,
        }
        .checked()
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the command that starts it, without environment. Blocks on file I/O.
    pub(crate) fn command(&self) -> Result<Command, LauncherError> {
        let mut command = match &self.code.kind {
            Kind::Script(language) => return launcher::script(language),
            Kind::ActionLoop => launcher::action_loop(&self.exec)?,
            Kind::Skeleton => launcher::skeleton(&self.exec)?,
            Kind::Image => launcher::image(self.main())?,
            Kind::Native | Kind::NativeOrActionLoop => {
                let mut command = Command::new(&self.exec);
                command.stdin(Stdio::null());
                command
            }
        };
        command.current_dir(&self.directory);
        Ok(command)
    }

    /// Returns the language of an interpreted package.
    pub(crate) fn language(&self) -> Option<&Language> {
        match &self.code.kind {
            Kind::Script(language) => Some(language),
            _ => None,
        }
    }

    /// Returns the first message to its interpreter, if it has one.
    pub(crate) fn init(&self) -> Option<Init<'_>> {
        self.language().map(|_| Init {
            directory: &self.directory,
            main: self.main(),
            installs: self.installs,
            lacks: self.lacks.as_deref(),
        })
    }

    fn main(&self) -> &str {
        self.code.main.as_deref().unwrap_or(launcher::MAIN)
    }

    /// Returns whether one of the platform's launchers speaks for it.
    pub(crate) fn is_launched(&self) -> bool {
        matches!(
            self.code.kind,
            Kind::ActionLoop | Kind::Skeleton | Kind::Image | Kind::Script(_)
        )
    }

    /// Returns how many flares may run on it at once: only Node's launcher can tell the calls in its process apart.
    pub(crate) fn lanes(&self) -> usize {
        match self.code.kind {
            Kind::Script(Language::Nodejs) => self.code.concurrency.get(),
            _ => 1,
        }
    }

    /// Returns whether it runs in an image, which contains all that it needs.
    pub(crate) fn is_image(&self) -> bool {
        self.code.kind == Kind::Image
    }

    /// Checks that it can be started. For a package that a launcher loads, the launcher reports what is missing.
    fn checked(mut self) -> Result<Self, PackageError> {
        if self.is_image() {
            return Ok(self);
        }
        if let Kind::Script(language) = &self.code.kind {
            let has = |name: &&str| self.directory.join(name).is_file();
            // As in OpenWhisk's images for languages, such a file takes precedence over `exec`.
            if language.entries().iter().any(has) || !self.exec.is_file() {
                if wanted::is_wanted(language, &self.directory) {
                    self.lacks = self.own().err().map(|problem| problem.to_string());
                    self.installs = self.lacks.is_none();
                }
                return Ok(self);
            }
            self.code.kind = Kind::ActionLoop;
        }
        // A script: invokers unpack what is not a program under this name.
        let source = self.directory.join(SOURCE);
        let is_run = matches!(self.code.kind, Kind::ActionLoop | Kind::Skeleton);
        if is_run && !self.exec.is_file() && source.is_file() {
            self.exec = source;
        }
        executable::check(&self.exec)?;
        if self.code.kind == Kind::NativeOrActionLoop {
            self.code.kind = match executable::mentions(&self.exec, CONTROL_FD.as_bytes())? {
                true => Kind::Native,
                false => Kind::ActionLoop,
            };
        }
        Ok(self)
    }

    /// Copies it to a directory of its own, unless it has one: dependencies are installed beside the code, where no
    /// other pack may be.
    fn own(&mut self) -> Result<(), NotInstalled> {
        if !scratch::is_own(&std::env::temp_dir()) {
            return Err(NotInstalled::Shared);
        }
        if self.owned.is_some() {
            return Ok(());
        }
        let owned = OwnDirectory::new()?;
        wanted::copy(&self.directory, owned.path())?;
        self.exec = owned.path().join(EXEC);
        self.directory = owned.path().to_owned();
        self.owned = Some(owned);
        Ok(())
    }
}

const ZIP: &[u8] = b"PK\x03\x04";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::own_directory;
    use std::io::{Cursor, Write};
    use zip::write::SimpleFileOptions;

    fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            writer
                .start_file(*name, SimpleFileOptions::default())
                .unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn unpack(bytes: impl AsRef<[u8]>) -> Result<Package, PackageError> {
        Package::unpack(Cursor::new(bytes), Code::default())
    }

    fn at(path: &Path) -> Result<Package, PackageError> {
        Package::at(path, Code::default())
    }

    impl Package {
        fn takes_the_action_loop(&self) -> bool {
            self.code.kind == Kind::ActionLoop
        }
    }

    fn code(kind: &str) -> Code {
        Code {
            kind: Kind::parse(kind).unwrap(),
            ..Code::default()
        }
    }

    #[test]
    fn a_zip_is_unpacked_and_removed() {
        let package = unpack(zipped(&[("exec", b"#!/bin/true"), ("data/words", b"a")])).unwrap();
        let directory = package.directory().to_owned();
        assert_eq!(fs::read(directory.join("data/words")).unwrap(), b"a");
        let mode = fs::metadata(&package.exec).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        drop(package);
        own_directory::wait_for_removals();
        assert!(!directory.exists());
    }

    #[test]
    fn a_bare_script_is_a_package() {
        let package = unpack(b"#!/bin/true").unwrap();
        assert_eq!(fs::read(&package.exec).unwrap(), b"#!/bin/true");
        at(package.directory()).unwrap();
        let bare = at(&package.exec).unwrap();
        assert_eq!(bare.directory(), package.directory());
    }

    #[test]
    fn entries_outside_the_package_are_refused() {
        for name in ["../evil", "/etc/evil", "a/../../evil"] {
            let refused = unpack(zipped(&[("exec", b"#!"), (name, b"x")]));
            assert!(
                matches!(refused, Err(PackageError::Entry(_))),
                "{name}: {refused:?}"
            );
        }
    }

    #[test]
    fn directories_count_whether_a_zip_names_them_or_not() {
        let wide = |files: usize| {
            let names = (0..files).map(|it| format!("{it}/{}f", "a/".repeat(98)));
            let names: Vec<_> = names.collect();
            let mut entries: Vec<_> = names.iter().map(|it| (it.as_str(), &b""[..])).collect();
            entries.push(("exec", b"#!/bin/true"));
            unpack(zipped(&entries))
        };
        // 100 each, and the executable.
        wide(99).unwrap();
        let refused = wide(100);
        assert!(
            matches!(refused, Err(PackageError::TooLarge)),
            "{refused:?}"
        );
    }

    #[test]
    fn symbolic_links_are_refused() {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        writer
            .add_symlink("exec", "/bin/true", SimpleFileOptions::default())
            .unwrap();
        let refused = unpack(writer.finish().unwrap().into_inner());
        assert!(
            matches!(refused, Err(PackageError::Entry(_))),
            "{refused:?}"
        );
    }

    #[test]
    fn packages_that_cannot_run_get_an_error_each() {
        assert!(matches!(unpack(b"hello"), Err(PackageError::Zip(_))));
        assert!(matches!(unpack(zipped(&[])), Err(PackageError::NoExec)));
        let text = unpack(zipped(&[("exec", b"hello")]));
        assert!(matches!(text, Err(PackageError::NotExecutable)));
        let mut elf = [0; 64];
        elf[..4].copy_from_slice(&ELF);
        elf[18] = 8;
        assert!(matches!(unpack(elf), Err(PackageError::Architecture(_))));
        let missing = at(Path::new("/no/such/package"));
        assert!(matches!(missing, Err(PackageError::Io(_))));
    }

    #[test]
    fn a_package_for_a_launcher_needs_no_executable() {
        let source = Package::unpack(Cursor::new("def main(args): pass"), code("python")).unwrap();
        assert!(source.directory().join(SOURCE).exists() && source.is_launched());
        let zip = zipped(&[("__main__.py", b"")]);
        let zip = Package::unpack(Cursor::new(zip), code("python:3.11")).unwrap();
        assert!(zip.directory().join("__main__.py").exists() && !zip.takes_the_action_loop());
        for bytes in [
            zipped(&[("exec", b"#!/bin/sh")]),
            zipped(&[("exec", b"#!"), ("a.py", b"")]),
        ] {
            let looping = Package::unpack(Cursor::new(bytes), code("nodejs")).unwrap();
            assert!(looping.takes_the_action_loop());
        }
        let marked = Package::unpack(Cursor::new("#!/usr/bin/node"), code("nodejs")).unwrap();
        assert!(!marked.takes_the_action_loop());
    }

    #[test]
    fn an_executable_that_mentions_the_control_socket_needs_no_launcher() {
        let far = " ".repeat(executable::SCANNED as usize - 10);
        for (exec, launched) in [
            ("#!/bin/sh".to_owned(), true),
            (format!("#!/bin/sh\n{CONTROL_FD}"), false),
            (format!("#!/bin/sh\n{far}{CONTROL_FD}"), false),
        ] {
            for (kind, always) in [
                ("rust", Some(false)),
                ("rust:1.34", None),
                ("go", Some(true)),
            ] {
                let package = Package::unpack(Cursor::new(&exec), code(kind)).unwrap();
                assert_eq!(package.is_launched(), always.unwrap_or(launched), "{kind}");
            }
        }
    }
}
