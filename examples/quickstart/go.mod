module example.com/discount

go 1.26
