//! All providers over real HTTP, against the fake model server.

#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod api;
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod capture;
#[cfg(test)]
mod compatible;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fallbacks;
#[cfg(test)]
mod gemini;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod moving;
#[cfg(test)]
mod raw_server;
#[cfg(test)]
mod reaching;
#[cfg(test)]
mod real_server;
#[cfg(test)]
mod responses;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod sdk_types;
