"""A comparison as one HTML page that needs no network: verdict, conditions side by side, every round a point."""
