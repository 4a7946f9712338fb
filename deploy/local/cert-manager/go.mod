module ipu-operator/deploy/local/cert-manager

go 1.24.0

require github.com/cert-manager/cert-manager v1.21.2
