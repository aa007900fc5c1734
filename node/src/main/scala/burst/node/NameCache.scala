package burst.node

import java.security.Security

/** How long this process goes by what a name's address was. The JVM keeps one for 30 s, and Pekko for as long
  * again: where nodes come back under other addresses, as Kubernetes' pods do, they would be given up before
  * anybody had asked where they are.
  */
private[node] object NameCache:
  private val Kept = "networkaddress.cache.ttl"
  private val NotFound = "networkaddress.cache.negative.ttl"
  private val ByFlag = Map(Kept -> "sun.net.inetaddr.ttl", NotFound -> "sun.net.inetaddr.negative.ttl")

  /** Seconds for which an address is kept, and that there is none. */
  private[node] val Times: Map[String, String] = Map(Kept -> "2", NotFound -> "1")

  /** Before the first name is looked up. What an operator has set by the JVM's own flags stays. */
  def shorten(): Unit = for (key, seconds) <- Times if sys.props.get(ByFlag(key)).isEmpty do
    Security.setProperty(key, seconds)
