#![doc = include_str!("../README.md")]

mod fitness;
mod greeting;
mod heartbeat;
mod instance_table;
mod job_wait;
mod lock;
mod lost;
mod mark;
mod new_tables;
mod opening;
mod pending_replies;
mod pooler;
mod question;
mod reader;
mod server_config;
mod server_line;
mod session;
mod standby;
mod starting;
mod statement;
mod steps;
mod tls;
mod token;
mod transfer;
mod writer;

pub use opening::{audit, create, open, open_in_turn};
pub use server_config::ServerConfig;
pub use steps::{Migrated, migrate};
pub use transfer::{ServerAndOwner, to_file, to_server};
