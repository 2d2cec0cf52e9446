"""The joint trainer: one policy, every domain, shares that hold on what is trained."""
