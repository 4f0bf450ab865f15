"""What an index survives: death, power loss, a full disk, rivals and damage."""
