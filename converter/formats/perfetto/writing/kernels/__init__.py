"""The compiled emitters of Perfetto's packets."""
