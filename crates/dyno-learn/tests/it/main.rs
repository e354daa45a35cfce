//! What is learnt from recordings and descriptions.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod bad_input;
mod foreign;
mod packets;
mod patterns;
mod planned;

use dyno_learn::{Learnt, LearntFlow, Traffic, read};

/// What is learnt from these bytes.
fn learnt(bytes: &[u8]) -> Learnt {
    let mut traffic = Traffic::default();
    read(&mut &*bytes, "file", &mut traffic).unwrap();
    Learnt::of(&traffic)
}

/// What is said of a file that cannot be used.
fn refused(bytes: &[u8]) -> String {
    let read = read(&mut &*bytes, "file", &mut Traffic::default());
    read.unwrap_err().to_string()
}

fn flow<'a>(learnt: &'a Learnt, topic: &str) -> &'a LearntFlow {
    let found = learnt.flows.iter().find(|f| f.topic == topic);
    found.unwrap_or_else(|| panic!("{topic} is no flow: {:?}", learnt.left_out))
}

fn why<'a>(learnt: &'a Learnt, topic: &str) -> &'a str {
    let found = learnt.left_out.iter().find(|f| f.topic == topic);
    found
        .unwrap_or_else(|| panic!("{topic} is not left out"))
        .why
}

/// A CSV of times in microseconds.
fn csv(rows: impl IntoIterator<Item = (i64, &'static str, u64)>) -> Vec<u8> {
    let mut text = "time_us,topic,size\n".to_owned();
    for (time, topic, size) in rows {
        text.push_str(&format!("{time},{topic},{size}\n"));
    }
    text.into_bytes()
}
