//! In place of `burst-runtime`, for tests: a launcher, and what runs in its sandbox.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["sandbox"] => match burst_sandbox::launch() {
            Ok(code) => code.into(),
            Err(error) => {
                eprintln!("burst-runtime: {error}");
                ExitCode::FAILURE
            }
        },
        ["sandbox", "--check"] => {
            println!(
                "{}",
                serde_json::to_string(&burst_sandbox::check()).unwrap_or_default()
            );
            ExitCode::SUCCESS
        }
        ["serve", ..] => {
            let mut line = String::new();
            let _ = std::io::stdin().read_line(&mut line);
            println!("{words:?} {line:?}");
            ExitCode::SUCCESS
        }
        _ => ExitCode::FAILURE,
    }
}
