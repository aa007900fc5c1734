//! Logistic regression, trained by stochastic gradient descent.

use crate::texts::{FEATURES, Text};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// The parameters of a training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// The initial learning rate. In epoch `e` it is divided by the square root of `e`.
    pub rate: f32,
    /// The strength of the penalty on large weights.
    pub penalty: f32,
    /// The number of passes over all texts.
    pub epochs: u32,
}

/// A trained model: a weight for each word, higher for words of texts with label 1.
#[derive(Debug, Clone)]
pub struct Model {
    weights: Vec<f32>,
    bias: f32,
}

impl Model {
    /// Trains a model on these texts. The result is deterministic.
    pub fn train(parameters: Parameters, texts: &[Text<'_>]) -> Self {
        let mut model = Self {
            weights: vec![0.0; FEATURES],
            bias: 0.0,
        };
        let mut order: Vec<u32> = (0..texts.len() as u32).collect();
        let mut random = SmallRng::seed_from_u64(1);
        for epoch in 1..=parameters.epochs {
            order.shuffle(&mut random);
            let rate = parameters.rate / (epoch as f32).sqrt();
            for &text in &order {
                model.step(texts[text as usize], rate, parameters.penalty);
            }
        }
        model
    }

    /// Moves the weights of this text's words one step against the gradient. The penalty applies only to the words
    /// of the text, in proportion to their share of it, instead of to all weights at each step.
    fn step(&mut self, text: Text<'_>, rate: f32, penalty: f32) {
        let error = f32::from(u8::from(text.label)) - self.probability(text);
        let each = share(text);
        for &word in text.words {
            let weight = &mut self.weights[usize::from(word)];
            *weight += rate * each * (error - penalty * *weight);
        }
        self.bias += rate * error;
    }

    /// Returns the probability that the label of a text is 1.
    pub fn probability(&self, text: Text<'_>) -> f32 {
        let words = text.words.iter();
        let sum: f32 = words.map(|&word| self.weights[usize::from(word)]).sum();
        1.0 / (1.0 + (-(self.bias + share(text) * sum)).exp())
    }

    /// Returns the fraction of the texts that the model classifies correctly.
    pub fn accuracy(&self, texts: &[Text<'_>]) -> f64 {
        let right = texts
            .iter()
            .filter(|&&text| (self.probability(text) > 0.5) == text.label)
            .count();
        right as f64 / texts.len().max(1) as f64
    }
}

/// Returns the value of one word of a text, chosen so that the text's vector has length 1 if no word occurs twice.
fn share(text: Text<'_>) -> f32 {
    1.0 / (text.words.len().max(1) as f32).sqrt()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::texts::Texts;

    const PARAMETERS: Parameters = Parameters {
        rate: 0.5,
        penalty: 0.0,
        epochs: 20,
    };

    /// Returns the log loss: the mean negative logarithm of the probability of each text's label.
    fn loss(model: &Model, texts: &[Text<'_>]) -> f64 {
        let each = texts.iter().map(|&text| {
            let probability = f64::from(model.probability(text));
            -if text.label {
                probability
            } else {
                1.0 - probability
            }
            .ln()
        });
        each.sum::<f64>() / texts.len() as f64
    }

    #[test]
    fn training_approaches_the_minimal_loss() {
        // Each text is one word, whose label is right three times out of four. The best possible model predicts a
        // probability of 3/4.
        let data = "1\tyes\n1\tyes\n1\tyes\n0\tyes\n0\tno\n0\tno\n0\tno\n1\tno\n".repeat(200);
        let texts = Texts::parse(data.as_bytes(), 0..data.len()).unwrap();
        let texts: Vec<_> = texts.iter().collect();
        let best = -(0.75 * 0.75f64.ln() + 0.25 * 0.25f64.ln());
        let found = loss(&Model::train(PARAMETERS, &texts), &texts);
        assert!(
            found >= best - 1e-6 && found < best + 0.05,
            "{found} for {best}"
        );
        let penalty = 1.0;
        let held_down = Model::train(
            Parameters {
                penalty,
                ..PARAMETERS
            },
            &texts,
        );
        assert!(loss(&held_down, &texts) > found);
    }

    #[test]
    fn texts_without_words_have_finite_probabilities() {
        let texts = Texts::parse(b"1\t\n0\tx\n", 0..7).unwrap();
        let texts: Vec<_> = texts.iter().collect();
        let model = Model::train(PARAMETERS, &texts);
        assert!(
            texts
                .iter()
                .all(|&text| model.probability(text).is_finite())
        );
        assert_eq!(model.accuracy(&[]), 0.0);
    }
}
