//! A checkpoint folder: configuration, weights, tokenizer, chat template.
