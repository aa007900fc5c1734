//! Exit codes as scripts for OpenWhisk expect them.

use std::io;

use burst_client::Error as ApiError;

use crate::error::Error;

/// Returns the exit code of `wsk` for an error: the HTTP status, if there is one, as far as it fits
/// into a byte.
pub fn exit_code(error: &Error) -> u8 {
    match error {
        Error::Output(cause) if cause.kind() == io::ErrorKind::BrokenPipe => 0,
        Error::AlreadyShown { status } | Error::FeedRefused { status, .. } => low_byte(*status),
        Error::Api(cause) | Error::Unable { cause, .. } | Error::With { cause, .. } => {
            match cause {
                ApiError::Refused { status, .. } => low_byte(*status),
                ApiError::Unreachable { .. }
                | ApiError::Broken { .. }
                | ApiError::NoAnswer { .. } => 3,
                ApiError::BadRequest(_) => 2,
                _ => 1,
            }
        }
        Error::Usage(_) | Error::File { .. } | Error::Package(_) => 2,
        Error::NotFound(_) => low_byte(404),
        _ => 1,
    }
}

/// No status of a failure is a success, not even 512.
fn low_byte(status: u16) -> u8 {
    status.to_le_bytes()[0].max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_match_those_of_openwhisk() {
        for (status, code) in [(202, 202), (401, 145), (404, 148), (409, 153), (502, 246)] {
            assert_eq!(exit_code(&Error::AlreadyShown { status }), code);
            let cause = ApiError::Refused {
                status,
                message: String::new(),
                code: None,
            };
            let what = String::new();
            assert_eq!(exit_code(&Error::Unable { what, cause }), code);
        }
        assert_eq!(exit_code(&Error::Usage(String::new())), 2);
    }
}
