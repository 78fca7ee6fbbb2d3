"""Who lies: each module asks one question of the reports, and none of them knows the surrogates that ask."""
