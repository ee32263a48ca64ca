import { main } from 'polyphony'

main(function* () {
  console.log('hello')
})
