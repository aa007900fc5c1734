//! Repeats of calls.

use std::thread;
use std::time::Duration;

use crate::call::Call;
use crate::client::Client;
use crate::error::Error;

/// The pauses before a call is sent once more: together as long as a controller takes to restart, or another one to
/// take over.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(5),
];

impl Client {
    /// Sends a call. A call that the platform does once, however often it arrives, is repeated when its connection
    /// breaks: nobody knows whether it had arrived.
    pub(crate) fn repeating<T>(
        &self,
        call: Call<'_>,
        send: impl Fn(Call<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if call.key.is_none() {
            return send(call);
        }
        let mut broke = false;
        for pause in PAUSES {
            match send(call.clone()) {
                Err(Error::Broken { .. }) => broke = true,
                // The controller that broke the connection is restarting. If none was there from the beginning, none is
                // waited for.
                Err(Error::Unreachable { .. }) if broke => {}
                outcome => return outcome,
            }
            thread::sleep(pause);
        }
        send(call)
    }
}
