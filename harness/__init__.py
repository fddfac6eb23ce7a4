"""What happens to the cluster: scenarios' machinery, faults, clients, collection, command line."""
