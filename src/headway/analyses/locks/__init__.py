"""Locks (`headway locks`): who waits for which lock, who holds it meanwhile, and what that costs."""
