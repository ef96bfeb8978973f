"""A step is written once, as mathematics, in :mod:`parkf.model.steps`; everything else derives from it.

:mod:`parkf.model.codegen` makes NumPy functions and the kernel's C++ from the formulas, with Jacobians and
gradients. :mod:`parkf.model.layout` is the order of the parameters in the files. Value and Jacobian cannot
differ, because both come from one expression.
"""
