//! The fake model server over real HTTP, and the scripted provider in process.

#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod client;
#[cfg(test)]
mod command;
#[cfg(test)]
mod conversations;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod gemini;
#[cfg(test)]
mod inspection;
#[cfg(test)]
mod openai;
#[cfg(test)]
mod provider;
#[cfg(test)]
mod responses;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod transport;
