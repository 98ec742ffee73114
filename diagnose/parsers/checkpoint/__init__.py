"""What is read of checkpoints: folders, listings, manifests and what programs say of them."""
