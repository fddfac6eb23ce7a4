"""The checks on DuckDB: the part of Spark's DataFrame interface that they use, in SQL.

The checks themselves are not written twice. `modules.put_in_place` lets `pyspark.sql` mean this
package in a process of its own, before `analysis` is imported there.
"""
