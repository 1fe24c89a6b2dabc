"""What this machine allows headway to record, and how to allow more (`headway doctor`)."""
