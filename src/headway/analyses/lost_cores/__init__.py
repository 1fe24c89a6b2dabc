"""Lost cores (`headway why`): cores times wall time, accounted for by cause and place."""
