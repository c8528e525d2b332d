//! What a server has turned out not to understand, of each model that was asked for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::wire::Dialect;

/// What is left out of requests for each model, as bits. What one model refuses, another may need.
#[derive(Default)]
pub(crate) struct Learned(Mutex<Vec<(String, u32)>>);

/// Most models of one server that are told apart; those beyond are not learned about.
const MAX_MODELS: usize = 1000;

impl Learned {
    /// The bits of `model`, and the same as a number that [`Self::add`] understands.
    pub(crate) fn about(&self, model: &str) -> (u32, Dialect) {
        let mut models = self.models();
        let known = models.iter().position(|(name, _)| name == model);
        let at = known.unwrap_or_else(|| {
            let next = models.len();
            if next < MAX_MODELS {
                models.push((model.to_owned(), 0));
            }
            next
        });
        let bits = models.get(at).map_or(0, |(_, bits)| *bits);
        (bits, Dialect((at as u64) << 32 | u64::from(bits)))
    }

    /// The bits in `dialect`.
    pub(crate) const fn bits(dialect: Dialect) -> u32 {
        (dialect.0 & u32::MAX as u64) as u32
    }

    /// Adds `corrected` to what is known of the model that `dialect` is of. True when a request would be written
    /// otherwise than in `dialect` from now on. Bits are only ever added, so corrections come to an end.
    pub(crate) fn add(&self, dialect: Dialect, corrected: u32) -> bool {
        let Ok(at) = usize::try_from(dialect.0 >> 32) else { return false };
        let mut models = self.models();
        let Some((_, known)) = models.get_mut(at) else { return false };
        *known |= corrected;
        corrected & !Self::bits(dialect) != 0
    }

    fn models(&self) -> MutexGuard<'_, Vec<(String, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_is_learned_about_by_itself_and_nothing_is_forgotten() {
        let learned = Learned::default();
        let (_, one) = learned.about("one");
        // Two requests are refused at the same time, for different reasons.
        assert!(learned.add(one, 1));
        assert!(learned.add(one, 4));
        let (both, dialect) = learned.about("one");
        assert_eq!((both, Learned::bits(dialect)), (5, 5));
        assert!(!learned.add(dialect, 5));
        assert_eq!(learned.about("two").0, 0);
        for model in 0..MAX_MODELS {
            learned.about(&model.to_string());
        }
        let (_, beyond) = learned.about("beyond");
        assert!(!learned.add(beyond, 1));
        assert_eq!(learned.about("beyond").0, 0);
    }
}
