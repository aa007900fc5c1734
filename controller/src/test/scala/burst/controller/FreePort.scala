package burst.controller

import java.net.{InetAddress, ServerSocket}
import java.util.concurrent.ThreadLocalRandom
import scala.util.Try

/** Finds a port that is free now, for servers that cannot choose their own. */
object FreePort:
  /** Picks a port below those that the kernel gives to outgoing connections (32768 to 60999 unless configured
    * otherwise), so that none of these takes it before it is used; the servers of other tests have their own
    * range.
    */
  def apply(): Int = in(30000 until 32000)

  def in(ports: Range): Int =
    val loopback = InetAddress.getLoopbackAddress
    Iterator
      .continually(ports(ThreadLocalRandom.current.nextInt(ports.size)))
      .find(port => Try(ServerSocket(port, 1, loopback).close()).isSuccess)
      .get
