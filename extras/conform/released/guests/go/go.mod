module guests

go 1.24
