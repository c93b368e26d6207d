//! The page on which a browser verifies a certificate, and asks no server.

/// The page, which loads both scripts from beside it.
pub const PAGE: &str = include_str!("../verify/certificate.html");

/// The verifier.
pub const VERIFIER: &str = include_str!("../verify/certificate.js");

/// The script that reads the file and says what it shows.
pub const SCRIPT: &str = include_str!("../verify/certificate-page.js");
