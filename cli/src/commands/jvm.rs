//! The Java virtual machine that a platform's process becomes, and its options.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

pub(super) const JAR: &str = "lib/burst-standalone.jar";
/// The environment variables in which a JVM finds the operator's options.
const OPERATORS: [&str; 3] = ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"];
/// No parallel collector: the platform starts quickly and leaves the processors to the workers.
const COLLECTOR: &str = "-XX:+UseSerialGC";
/// The options that choose a collector. A JVM that gets two of them does not start.
const COLLECTORS: &[&str] = &[
    "UseSerialGC",
    "UseParallelGC",
    "UseG1GC",
    "UseZGC",
    "UseShenandoahGC",
    "UseEpsilonGC",
];
/// Puts the heap in pages of 2 MiB, if the kernel grants them on request: a call takes a fourteenth less processor time
/// (docs/adr/0074). No JVM does so by default.
const HUGE_PAGES: &str = "-XX:+UseTransparentHugePages";
const KERNEL_SETTING: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Makes each object one word smaller, on a JVM of release 25 or later: a tenth more flares a second (docs/adr/0074).
/// It is off by default.
const SMALL_OBJECTS: &str = "-XX:+UseCompactObjectHeaders";
const HAS_SMALL_OBJECTS: u32 = 25;
/// Options that exclude small objects, or with which the operator has decided about them.
const OTHER_OBJECTS: &[&str] = &["CompactObjectHeaders", "CompressedClassPointers"];
/// How many processors the second compiler needs. With fewer, a JVM that has yet to learn what to compile is slower
/// with it than without for its first minute, and much faster from then on (docs/adr/0074).
#[derive(Debug, Clone, Copy)]
pub(super) enum SecondCompiler {
    /// For a platform that people start to try something.
    FromFourProcessors,
    /// For a process that runs for days.
    FromTwoProcessors,
}

impl SecondCompiler {
    fn pays(self, processors: usize) -> bool {
        processors
            >= match self {
                Self::FromFourProcessors => 4,
                Self::FromTwoProcessors => 2,
            }
    }
}

/// With the first compiler alone, methods are compiled after a tenth of the usual calls: no better code will follow,
/// and interpreted code is many times slower.
const NO_SECOND_COMPILER: &[&str] = &["-XX:TieredStopAtLevel=1", "-XX:CompileThresholdScaling=0.1"];
/// With one compiler, a JVM reserves 48 MB for code by default; a platform has been seen to take 42.
const ROOM_FOR_CODE: &str = "-XX:ReservedCodeCacheSize=96m";
/// While methods wait for the second compiler, counting for it does not slow them down.
const SECOND_COMPILER: &[&str] = &["-XX:Tier3DelayOn=0"];
/// All compiler threads exist from the start, because that is when the platform lowers the priority of the second
/// compiler's.
const COMPILER_THREADS: &str = "-XX:-UseDynamicNumberOfCompilerThreads";
/// The platform's classes in a JVM's own form, saved by `make build`: with them a start takes half the time. A JVM that
/// cannot use them, such as one of another release, runs without them.
const CLASSES: &str = "lib/burst-standalone.jsa";
/// Parts of operators' options for what a JVM has saved. A JVM that gets options for two kinds of it does not start.
const SAVED: &[&str] = &["-Xshare", "SharedArchiveFile", "AOT"];
const NO_WORD_OF_CLASSES: &str = "-Xlog:cds=off,cds+dynamic=off,class+path=off";
/// The classes together with the counts that a trained JVM has saved, so that the second compiler need not wait for new
/// ones (docs/adr/0087).
const TRAINED: &str = "lib/burst-standalone.aot";
/// The `release` file of the JDK that made this cache, with the modification time of the jar: another JVM, or one with
/// another jar, ignores the cache without a warning and has learned nothing.
const TRAINED_BY: &str = "lib/burst-standalone.aot.jdk";
const TRAINABLE: u32 = 25;
/// Parts of operators' options with which a JVM may ignore what it has learned, without a warning.
const UNLEARNS: &[&str] = &[
    "-javaagent",
    "-agentlib",
    "-agentpath",
    "module",
    "CompactObjectHeaders",
    "CompressedOops",
    "CompressedClassPointers",
];
const NO_WORD_OF_TRAINING: &str = "-Xlog:aot=off,cds=off,class+path=off";
/// Silences the warnings that newer releases print at each start about Scala and SQLite's driver.
const NO_WORD_OF_LIBRARIES: [&str; 2] = [
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
];
const FINDS_WANTING: u32 = 24;

/// Returns the command that starts a JVM, with the options that do not depend on the platform's settings. The
/// operator's options are added to these, and replace those for the same subject.
pub(super) fn command(home: &Path, second: SecondCompiler) -> Command {
    let java = java();
    let mut command = Command::new(&java);
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let own = OPERATORS.map(|name| env::var(name).unwrap_or_default());
    let own = own.concat();
    let jdk = jdk(&java).unwrap_or_default();
    let release = jdk.lines().find_map(version).unwrap_or_default();
    let may_use_saved = !speaks_of(SAVED, &own);
    let is_trained = may_use_saved && release >= TRAINABLE && has_trained(&jdk, home);
    let kernels = fs::read_to_string(KERNEL_SETTING).unwrap_or_default();
    command.args(collector(&own));
    command.args(huge_pages(&kernels, &own));
    command.args(small_objects(release, &own));
    let has_learned = is_trained && !speaks_of(COLLECTORS, &own) && !speaks_of(UNLEARNS, &own);
    let has_second = has_learned || second.pays(processors);
    command.args(compilers(has_second, &own));
    if release >= FINDS_WANTING {
        command.args(NO_WORD_OF_LIBRARIES);
    }
    let classes = home.join(CLASSES);
    if is_trained {
        let trained = format!("-XX:AOTCache={}", home.join(TRAINED).display());
        command.args([&trained, NO_WORD_OF_TRAINING]);
    } else if may_use_saved && classes.exists() {
        let classes = format!("-XX:SharedArchiveFile={}", classes.display());
        command.args([&classes, NO_WORD_OF_CLASSES]);
    }
    command
}

fn speaks_of(names: &[&str], options: &str) -> bool {
    names.iter().any(|name| options.contains(name))
}

fn collector(options: &str) -> Option<&'static str> {
    (!speaks_of(COLLECTORS, options)).then_some(COLLECTOR)
}

/// Requests huge pages only if the kernel leaves the choice to programs. Otherwise the request has no effect, or the
/// JVM complains about it. The heap of another collector may be of a kind for which the kernel has a setting of its
/// own.
fn huge_pages(kernels: &str, options: &str) -> Option<&'static str> {
    let asks = kernels.contains("[madvise]");
    let own = speaks_of(COLLECTORS, options) || speaks_of(&["HugePages", "LargePages"], options);
    (asks && !own).then_some(HUGE_PAGES)
}

fn small_objects(release: u32, options: &str) -> Option<&'static str> {
    (release >= HAS_SMALL_OBJECTS && !speaks_of(OTHER_OBJECTS, options)).then_some(SMALL_OBJECTS)
}

fn compilers(has_second: bool, options: &str) -> Vec<&'static str> {
    let unless = |named: &str, option| (!speaks_of(&[named], options)).then_some(option);
    let threads = unless("UseDynamicNumberOfCompilerThreads", COMPILER_THREADS);
    let tiers = if speaks_of(&["Tiered", "Tier3", "CompileThreshold"], options) {
        Vec::new()
    } else if has_second {
        SECOND_COMPILER.to_vec()
    } else {
        let room = unless("ReservedCodeCacheSize", ROOM_FOR_CODE);
        NO_SECOND_COMPILER.iter().copied().chain(room).collect()
    };
    tiers.into_iter().chain(threads).collect()
}

fn java() -> PathBuf {
    match set("JAVA_HOME") {
        Some(home) => Path::new(&home).join("bin/java"),
        None => "java".into(),
    }
}

fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the text of the file `release` of the JDK or runtime that a program belongs to, which lies beside the
/// program's directory; `None` if it is missing.
fn jdk(java: &Path) -> Option<String> {
    let path = set("PATH").unwrap_or_default();
    let mut found = env::split_paths(&path).map(|directory| directory.join(java));
    // Joining a directory and an absolute path leaves the path unchanged.
    let program = fs::canonicalize(found.find(|it| it.is_file())?).ok()?;
    fs::read_to_string(program.parent()?.parent()?.join("release")).ok()
}

fn has_trained(jdk: &str, home: &Path) -> bool {
    let changed = |path| fs::metadata(home.join(path)).and_then(|it| it.modified());
    let same_jdk = fs::read_to_string(home.join(TRAINED_BY)).is_ok_and(|by| by == jdk);
    let same_jar = matches!((changed(TRAINED_BY), changed(JAR)), (Ok(by), Ok(jar)) if by == jar);
    same_jdk && same_jar && home.join(TRAINED).exists()
}

fn version(line: &str) -> Option<u32> {
    let version = line.strip_prefix("JAVA_VERSION=\"")?;
    let end = version.find(|it: char| !it.is_ascii_digit())?;
    version[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operator_options_override_the_choice_of_compilers() {
        let all = |options: &[&[&'static str]]| [options, &[&[COMPILER_THREADS]]].concat().concat();
        assert_eq!(
            compilers(false, ""),
            all(&[NO_SECOND_COMPILER, &[ROOM_FOR_CODE]])
        );
        assert_eq!(
            compilers(false, "-XX:ReservedCodeCacheSize=64m"),
            all(&[NO_SECOND_COMPILER])
        );
        assert_eq!(compilers(true, "-Xmx512m"), all(&[SECOND_COMPILER]));
        assert_eq!(
            compilers(true, "-XX:+UseDynamicNumberOfCompilerThreads"),
            SECOND_COMPILER
        );
        for (has_second, own) in [
            (false, "-XX:Tier3DelayOn=0"),
            (true, "-XX:TieredStopAtLevel=1"),
            (false, "-XX:CompileThresholdScaling=1"),
        ] {
            assert_eq!(compilers(has_second, own), [COMPILER_THREADS], "{own}");
        }
    }

    #[test]
    fn long_running_nodes_use_c2_from_two_processors() {
        let pays = |second: SecondCompiler| [1, 2, 3, 4].map(|processors| second.pays(processors));
        assert_eq!(
            pays(SecondCompiler::FromFourProcessors),
            [false, false, false, true]
        );
        assert_eq!(
            pays(SecondCompiler::FromTwoProcessors),
            [false, true, true, true]
        );
    }

    #[test]
    fn huge_pages_are_requested_if_the_kernel_uses_madvise() {
        let asked = "always [madvise] never\n";
        assert_eq!(huge_pages(asked, "-Xmx512m"), Some(HUGE_PAGES));
        for kernels in ["[always] madvise never\n", "always madvise [never]\n", ""] {
            assert_eq!(huge_pages(kernels, ""), None, "{kernels}");
        }
        for own in [
            "-XX:+UseZGC",
            "-XX:-UseTransparentHugePages",
            "-XX:+UseLargePages",
        ] {
            assert_eq!(huge_pages(asked, own), None, "{own}");
        }
    }

    #[test]
    fn compact_object_headers_are_used_from_java_25() {
        assert_eq!(small_objects(24, ""), None);
        for own in ["", "-Xmx512m", "-XX:+UseZGC"] {
            assert_eq!(small_objects(25, own), Some(SMALL_OBJECTS), "{own}");
        }
        for own in [
            "-XX:-UseCompactObjectHeaders",
            "-XX:-UseCompressedClassPointers",
        ] {
            assert_eq!(small_objects(25, own), None, "{own}");
        }
    }

    #[test]
    fn the_java_version_is_the_first_number() {
        assert_eq!(version("JAVA_VERSION=\"25.0.3\""), Some(25));
        assert_eq!(version("JAVA_VERSION=\"26\""), Some(26));
        assert_eq!(version("JAVA_VERSION=\"1.8.0_402\""), Some(1));
        for other in ["JAVA_VERSION_DATE=\"2026-04-21\"", "JAVA_VERSION=\"", ""] {
            assert_eq!(version(other), None, "{other}");
        }
    }
}
