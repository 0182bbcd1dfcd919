package execute

// Confine is what a started program and all its descendants may reach: system folders to read and run, and what is
// listed here. It is an allow-list: home directories, other projects, credentials and swarm's own state are closed
// because nobody lists them. The zero Confine reaches the system folders alone and has no network.
//
// The system folders are /usr, /bin, /sbin, /lib*, /opt and /nix/store; of /etc a list of single files and folders that
// programs need (users, name resolution, the dynamic linker, certificates, fonts, language runtimes), each only when every
// user of the machine may read it, because for root a whole /etc holds password hashes and host keys; /proc, where the
// kernel keeps environment, memory and descriptors of processes outside the confinement closed; and the usual devices
// (null, zero, full, random, urandom).
//
// Confined processes have no_new_privs, no descriptor but those they were given, and as root no capabilities other than
// those about file ownership: with the others root walks around Landlock (kernel memory, modules, mounts).
type Confine struct {
	// Read are files and folders that may be read and run: the working tree, the swarm program, a toolchain.
	Read []string
	// Write are files and folders that may also be written: the plan folder, a temporary one.
	Write []string
	// Connect are UNIX sockets, or folders of sockets, that may be connected to. Before ABI 9 the kernel lets a process
	// connect to any socket that file permissions allow: see [Enforcement.Open].
	Connect []string
	// Network lets the target use TCP and UDP. False leaves UNIX sockets only, by a filter on amd64 and arm64; elsewhere it
	// denies TCP from ABI 4 and UDP from ABI 10.
	Network bool
	// Forbidden are folders that must stay out of reach whatever the lists say: swarm's state and configuration, the home
	// directory. A list that opens one of them, or a folder above it, is an error and nothing is started. A path *inside*
	// a forbidden folder may be listed: the plan folder lies in the state folder.
	Forbidden []string
	// Require makes it an error ([ErrNotConfined]) when nothing can be enforced here.
	Require bool
}

// Enforcement is how far a confinement is enforced.
type Enforcement struct {
	Enforced bool     // by the kernel. False means that the target may do whatever its user may
	ABI      int      // of Landlock; 0 is none
	Open     []string // what was to be closed and is not, one phrase each
}

// Open lists what stays open under a confinement at a Landlock ABI, in words for people. ABI 0 is no Landlock: everything.
func Open(abi int, network bool) []string {
	if abi <= 0 {
		return []string{"everything: this system has no Landlock"}
	}
	open := []string{"owner, mode, times and attributes of files (chmod, chown, utime, setxattr)", "names and sizes of files (stat)"}
	for _, gap := range []struct {
		closedBy int
		net      bool
		what     string
	}{
		{3, false, "cutting files short (truncate)"},
		{4, true, "TCP"},
		{5, false, "device controls (ioctl)"},
		{6, false, "signals to processes outside"},
		{6, false, "abstract UNIX sockets"},
		{9, false, "UNIX sockets with a path (agents, D-Bus, container daemons)"},
		{10, true, "UDP"},
	} {
		if abi < gap.closedBy && (!gap.net || !network && !canFilter()) {
			open = append(open, gap.what)
		}
	}
	if !network && !canFilter() {
		open = append(open, "network protocols other than TCP and UDP (multipath TCP, SCTP)")
	}
	return open
}
