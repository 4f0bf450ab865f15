"""Indexes that earlier versions wrote. Later versions must read them."""
