//! One test for each oddity.
