"""How well does a recipe find things? Datasets with known answers, the papers' own measures, and what came out."""
