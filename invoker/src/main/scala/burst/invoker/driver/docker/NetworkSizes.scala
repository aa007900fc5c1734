package burst.invoker.driver
package docker

/** How large the network for a number of containers is, and how many neighbour entries they can have on it in
  * total: each container one for each address, whether it is in use or not.
  */
private[driver] final class NetworkSizes(containers: Int):
  import NetworkSizes.*

  /** Some are still ending while others begin; three addresses are not for containers. */
  private val bits: Int = (32 - Integer.numberOfLeadingZeros(containers * 2 + 2)).max(LeastBits).min(MostBits)

  val neighbours: Long = (containers.toLong << bits).min(MostNeighbours)

  /** The first addresses of a network, `ADDRESS/BITS`; the whole network if it is no larger. */
  def narrow(network: String): String =
    val Array(address, prefix) = network.split('/'): @unchecked
    s"$address/${prefix.toInt.max(32 - bits)}"

private[driver] object NetworkSizes:
  private val LeastBits = 8
  private val MostBits = 16

  /** Entries of the kernel's table, each of which takes some 400 bytes once it is used. */
  private val MostNeighbours = 1L << 18
