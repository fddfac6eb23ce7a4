"""The checks on DuckDB: as much of Spark's DataFrame interface as they use, told in SQL.

Nothing of the checks is written a second time. `modules.put_in_place` lets `pyspark.sql` mean this
package in a process of its own, before `analysis` is imported there.
"""
