package plandir

import "strings"

// HeroName makes a plan file's name of random bytes: three names, such as "noether-ravel-shackleton.md".
func HeroName(random [3]byte) string {
	words := make([]string, len(random))
	for i, b := range random {
		words[i] = heroes[int(b)%len(heroes)]
	}
	return strings.Join(words, "-") + ".md"
}

// heroes are people who found something out, or went where nobody had been.
var heroes = strings.Fields(`ada aldrin alhazen amundsen anning archimedes armstrong avicenna banneker bardeen barents battuta beagle bell
	bernoulli bohr boole born bose brahe burnell cabot cannon carson cassini cavendish celsius chandra chappe cook cori crick curie
	daguerre darwin davy descartes dirac drake earhart eames eddington einstein elion erdos euclid euler faraday fermat fermi
	feynman fibonacci fleming franklin gagarin galileo galois gauss germain godel goodall hadley halley hamilton hardy harvey hawking
	herschel hertz hillary hodgkin hooke hopper hubble humboldt huygens hypatia joule kepler khayyam kovalevskaya lamarr
	laplace lavoisier leavitt leibniz linnaeus lister livingstone lovelace magellan maxwell mayer meitner mendel mercator
	mirzakhani mitchell nansen nash newton nobel noether norgay ohm ostrom pascal pasteur pauling peary perlman planck polo
	ptolemy pythagoras ramanujan ravel ride rontgen rosalind rubin sabin salk scott shackleton shannon somerville swan tereshkova tesla
	thales torricelli turing vespucci volta wallace watt wegener wiles wright wu yalow yonath zeno zhang zuse`)
