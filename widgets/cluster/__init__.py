"""The widget of the cluster that a KRaft metadata log describes."""
