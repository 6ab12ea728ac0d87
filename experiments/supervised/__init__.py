"""What supervised learning must show: performance and loss on fresh trials, over seeds."""
