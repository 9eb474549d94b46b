# The page builds it with the rest.
ln -sf "$HOME/.local/bin/reroll" bin/reroll
