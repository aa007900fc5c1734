//! The outputs of a flare: always a JSON array by worker id, however the flare ended.

use burst_client::Client;

use crate::error::Error;
use crate::failure;
use crate::output::{self, Printer};

/// Prints the outputs, and fails as the flare did.
pub fn print(client: &Client, id: &str) -> Result<(), Error> {
    match print_outputs(client, id) {
        // Whoever reads the output may have seen enough: the exit code still tells how the flare ended.
        Err(Error::Output(cause)) => {
            let flare = client.get_flare(id)?.read()?;
            Err(failure::of_flare(&flare).unwrap_or(Error::Output(cause)))
        }
        outcome => outcome,
    }
}

fn print_outputs(client: &Client, id: &str) -> Result<(), Error> {
    let mut printer = Printer::new();
    let (mut workers, mut missing) = (0, 0);
    let outcome = client.get_result(id)?.each(|output| {
        if output.worker != workers {
            return Err(Error::Disordered);
        }
        printer.people(if workers == 0 { "[\n  " } else { ",\n  " })?;
        workers += 1;
        if let Some(output) = output.output {
            return printer.json(output.get());
        }
        missing += 1;
        printer.people("null")
    })?;
    printer.people(if workers == 0 { "[]\n" } else { "\n]\n" })?;
    printer.end()?;
    if !outcome.state.is_final() {
        let state = &outcome.state;
        output::note(&format!(
            "flare {id} is {state}: {missing} of {workers} workers have no output yet"
        ));
    }
    failure::of_state(id, &outcome.state, outcome.error.as_ref()).map_or(Ok(()), Err)
}
