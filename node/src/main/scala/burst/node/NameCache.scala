package burst.node

import java.security.Security

/** How long this process caches the address of a name. The JVM keeps one for 30 s, and Pekko for as long
  * again: nodes that come back at other addresses, as Kubernetes' pods do, would be given up before anybody
  * had looked them up again.
  */
private[node] object NameCache:
  private val AddressLifetime = "networkaddress.cache.ttl"
  private val NegativeLifetime = "networkaddress.cache.negative.ttl"
  private val ByFlag =
    Map(AddressLifetime -> "sun.net.inetaddr.ttl", NegativeLifetime -> "sun.net.inetaddr.negative.ttl")

  /** Seconds for which an address is kept, and for which its absence is. */
  private[node] val Times: Map[String, String] = Map(AddressLifetime -> "2", NegativeLifetime -> "1")

  /** Must be called before the first name is looked up. What an operator has set by the JVM's own flags
    * stays.
    */
  def shorten(): Unit = for (key, seconds) <- Times if sys.props.get(ByFlag(key)).isEmpty do
    Security.setProperty(key, seconds)
