"""Every wait of a thread: which rule tells idle waiting from contention, for what and for whom the thread waited."""
