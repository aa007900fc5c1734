package burst.invoker.driver
package docker

/** How large the network of so many containers is, and how many neighbours they may have on it in all: each
  * of them each address there is, whether somebody has it or not.
  */
private[driver] final class NetworkSizes(containers: Int):
  import NetworkSizes.*

  /** Some are still ending while others begin; three addresses are no container's. */
  private val bits: Int = (32 - Integer.numberOfLeadingZeros(containers * 2 + 2)).max(LeastBits).min(MostBits)

  val neighbours: Long = (containers.toLong << bits).min(MostNeighbours)

  /** The first addresses of a network, `ADDRESS/BITS`; all of one that is no larger. */
  def narrow(network: String): String =
    val Array(address, prefix) = network.split('/'): @unchecked
    s"$address/${prefix.toInt.max(32 - bits)}"

private[driver] object NetworkSizes:
  private val LeastBits = 8
  private val MostBits = 16

  /** Entries of the kernel's table, of which each takes some 400 bytes once it is used. */
  private val MostNeighbours = 1L << 18
