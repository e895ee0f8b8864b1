"""The jobs of the product, each wired from the layers below."""
