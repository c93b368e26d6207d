//! The merchant's side of the platform: client, callbacks, inbox and scheduler.
