package execute

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// systemPath is something that every confined program may reach.
type systemPath struct {
	path   string
	rights uint64
}

var (
	systemPrograms = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"}
	systemInfo     = []string{"/proc", "/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage"}
	systemDevices  = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
	// systemConfig is what programs need of /etc, as patterns. Private keys lie beside certificates: only the folders that
	// hold nothing but certificates are listed.
	systemConfig = []string{
		"passwd", "group", "nsswitch.conf", "login.defs", "shells", // users
		"hosts", "host.conf", "hostname", "resolv.conf", "gai.conf", "services", "protocols", "networks", "ethertypes",
		"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "ld-musl-*.path",
		"localtime", "timezone", "locale.conf", "locale.alias", "default/locale", "machine-id",
		"os-release", "lsb-release", "debian_version", "alpine-release", "redhat-release", "fedora-release", "arch-release",
		"bash.bashrc", "bashrc", "profile", "profile.d", "inputrc", "terminfo",
		"ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf", "pki/ca-trust",
		"pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "crypto-policies",
		"mime.types", "magic", "magic.mime", "fonts", "alternatives", "java-*", "java", "python*", "perl", "gitconfig",
	}
)

// systemPaths are all of them, whether or not they exist here.
func systemPaths() (paths []systemPath) {
	add := func(rights uint64, names ...string) {
		for _, n := range names {
			paths = append(paths, systemPath{n, rights})
		}
	}
	add(rightsRead, systemPrograms...)
	add(rightsLook, systemInfo...)
	add(rightsDevice, systemDevices...)
	for _, pattern := range systemConfig {
		names, _ := filepath.Glob("/etc/" + pattern)
		for _, n := range names {
			if st, err := os.Stat(n); err == nil && st.Mode()&0o004 != 0 {
				add(rightsLook, n)
			}
		}
	}
	return paths
}

// keptCapabilities are what root keeps in a confinement: what it needs for files that belong to others.
var keptCapabilities = map[int]bool{unix.CAP_CHOWN: true, unix.CAP_DAC_OVERRIDE: true, unix.CAP_FOWNER: true, unix.CAP_FSETID: true}

// dropCapabilities takes from root, and from whatever is executed, what Landlock does not restrict: kernel memory,
// modules, raw devices, other processes. It returns what could not be taken, in words for people.
func dropCapabilities() (open []string) {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if unix.Geteuid() != 0 {
		return nil // without them, and with no_new_privs there will be none
	}
	for c := 0; ; c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0)
		if err != nil {
			return open // no such capability: that was the last
		}
		if has == 1 && !keptCapabilities[c] && unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0) != nil {
			open = []string{"what root may do beside files (kernel, devices): its capabilities could not be dropped"}
		}
	}
}
