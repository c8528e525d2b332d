//! Both providers over real HTTP, against the fake model server.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod api;
#[cfg(test)]
mod bodies;
#[cfg(test)]
mod cancelling;
#[cfg(test)]
mod capture;
#[cfg(test)]
mod compatible;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fallbacks;
#[cfg(test)]
mod gemini;
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
#[cfg(test)]
mod tool_names;
